/**
 * The page's files, relative to it, those that are kept when they are first asked for, and a version that changes with any of
 * them; inserted by the build.
 */
declare const SHELL_FILES: readonly string[];
declare const LATER_FILES: readonly string[];
declare const SHELL_VERSION: string;

/**
 * The members of a service worker's scope that are used; TypeScript's own types for it conflict with those of pages.
 */
interface ServiceWorkerScope {
  readonly registration: { readonly scope: string };
  readonly clients: { claim(): Promise<void> };
  addEventListener(type: 'install' | 'activate', listener: (event: ExtendableEvent) => void): void;
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
}

interface ExtendableEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}

interface FetchEvent extends ExtendableEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

/** The list of models is asked for first, as it changes without the page; where there is no network, the stored one serves. */
const MODELS = 'models/models.json';

const worker = globalThis as unknown as ServiceWorkerScope;
const PREFIX = `rocmforge ${worker.registration.scope} `;
const SHELL = PREFIX + SHELL_VERSION;

/** Headers that allow workers to share memory, which the CPU device needs, whatever server the page comes from. */
const ISOLATION = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

// An open page keeps the files that it started with: a new version waits until no page is open.
worker.addEventListener('install', (event) => {
  event.waitUntil(fillShell());
});

worker.addEventListener('activate', (event) => {
  event.waitUntil(dropOldShells().then(() => worker.clients.claim()));
});

worker.addEventListener('fetch', (event) => {
  const address = shellAddress(event.request);
  // Models are not cached here: they are stored elsewhere, in pieces.
  if (address !== undefined) event.respondWith(fromShell(address, event.request));
});

async function fillShell(): Promise<void> {
  const shell = await caches.open(SHELL);
  const addresses = SHELL_FILES.map((file) => new URL(file, worker.registration.scope).href);
  await shell.addAll(addresses.map((address) => new Request(address, { cache: 'reload' })));
}

async function dropOldShells(): Promise<void> {
  for (const name of await caches.keys()) {
    if (name.startsWith(PREFIX) && name !== SHELL) await caches.delete(name);
  }
}

/** The address of the requested file if it belongs to the page, otherwise undefined. */
function shellAddress({ method, url }: Request): string | undefined {
  const { scope } = worker.registration;
  const [address = ''] = url.split(/[?#]/);
  if (method !== 'GET' || !address.startsWith(scope)) return undefined;
  const file = address.slice(scope.length) || 'index.html';
  return SHELL_FILES.includes(file) || LATER_FILES.includes(file) ? new URL(file, scope).href : undefined;
}

/** What is large, and needed by few, is kept from its first use on. */
async function fetchLate(shell: Cache, address: string): Promise<Response> {
  const response = await fetch(address);
  if (response.ok) await shell.put(address, response.clone());
  return response;
}

async function fromShell(address: string, request: Request): Promise<Response> {
  const shell = await caches.open(SHELL);
  const fresh = address.endsWith(MODELS) ? await fetch(request).catch(() => undefined) : undefined;
  const response = (fresh?.ok ? fresh : await shell.match(address)) ?? (await fetchLate(shell, address));
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(ISOLATION)) headers.set(name, value);
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}
