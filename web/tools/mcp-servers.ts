import { effect, type ReadonlySignal, type Signal, signal, untracked } from '@preact/signals';
import { objectIn } from '../json-object.ts';
import type { McpServerSetting, SettingValues } from '../state/settings.ts';
import { TEXTS } from '../texts.ts';
import { accessTo, answerTo, isAccessKey, keepAccess, keepSignIn } from './mcp-access.ts';
import type { McpConnection } from './mcp-connection.ts';
import { McpProblem } from './mcp-problem.ts';
import type { SandboxResult } from './sandbox.ts';
import type { PageTool } from './tools.ts';

/** How it stands with a server. */
export type McpStatus =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open'; readonly tools: readonly PageTool[] }
  | { readonly kind: 'failed'; readonly problem: McpProblem };

/** What names of functions may not have; servers' names may. */
const UNFIT = /[^\w-]/g;
const MOST_NAME = 64;

/** A server of the settings, and the connection to it. */
export class McpServer {
  readonly setting: McpServerSetting;
  readonly status = signal<McpStatus>({ kind: 'connecting' });
  #connection: McpConnection | undefined;
  #connecting: Promise<void> | undefined;
  #wasOpen = false;
  #isClosed = false;

  constructor(setting: McpServerSetting) {
    this.setting = setting;
  }

  /** The server's name for people. */
  get host(): string {
    return new URL(this.setting.address).host;
  }

  /** Connects, if there is no connection. Never rejects: the status tells. */
  connect(): Promise<void> {
    this.#connecting ??= this.#open().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  /**
   * Connects again to a server that was there. One that never was is asked again by a click alone: waiting for it takes long; one
   * at which the person has to sign in, when that is done.
   */
  async ready(): Promise<void> {
    const isLost = this.#wasOpen && this.#signIn === undefined;
    if (isLost || this.status.value.kind === 'connecting') await this.connect();
  }

  /** Connects when the person has signed in, here or in another tab. */
  async follow(): Promise<void> {
    const { address } = this.setting;
    const isDone = answerTo(address) !== undefined || accessTo(address).tokens !== undefined;
    if (this.#signIn !== undefined && isDone) await this.connect();
  }

  /** Forgets how the person signed in. */
  forget(): void {
    keepAccess(this.setting.address, undefined);
    keepSignIn(this.setting.address, undefined);
  }

  get #signIn(): URL | undefined {
    const { value: status } = this.status;
    return status.kind === 'failed' ? status.problem.link : undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  async #open(): Promise<void> {
    if (this.#connection && this.status.value.kind === 'open') return;
    this.status.value = { kind: 'connecting' };
    const { address, header } = this.setting;
    try {
      const { McpConnection } = await import('./mcp-connection.ts');
      const connection = await McpConnection.open(new URL(address), headersOf(header) ?? {});
      if (this.#isClosed) return void connection.close();
      this.#connection = connection;
      connection.onchange = () => void this.#list().catch((error: unknown) => this.#fail(error));
      await this.#list();
    } catch (error) {
      this.#fail(error);
    }
  }

  async #list(): Promise<void> {
    const tools = (await this.#connection?.tools()) ?? [];
    if (this.#isClosed) return;
    this.#wasOpen = true;
    this.status.value = {
      kind: 'open',
      tools: tools.map(({ name, description, inputSchema }) => ({
        definition: {
          type: 'function',
          function: {
            name: name.replaceAll(UNFIT, '_').slice(0, MOST_NAME),
            ...(description !== undefined && { description }),
            parameters: inputSchema,
          },
        },
        ask: TEXTS.call.askServer(this.host),
        call: (written, end) => this.#call(name, written, end),
      })),
    };
  }

  #fail(error: unknown): void {
    this.#drop();
    // The page's own part may be out of reach, too.
    const problem = error instanceof McpProblem ? error : new McpProblem('unreachable', String(error));
    if (!this.#isClosed) this.status.value = { kind: 'failed', problem };
  }

  #drop(): void {
    void this.#connection?.close();
    this.#connection = undefined;
  }

  async #call(name: string, written: string, end: AbortSignal): Promise<SandboxResult> {
    const values = objectIn(written);
    if (!values) return { isFailed: true, text: TEXTS.call.noObject };
    try {
      await this.ready();
      try {
        return await this.#callOnce(name, values, end);
      } catch (error) {
        if (!(error instanceof McpProblem) || error.kind !== 'forgotten') throw error;
        this.#fail(error);
        await this.connect();
        return await this.#callOnce(name, values, end);
      }
    } catch (error) {
      end.throwIfAborted();
      if (!(error instanceof McpProblem)) throw error;
      // A server that answers is there, whatever it says.
      if (error.kind !== 'refused') this.#fail(error);
      return { isFailed: true, text: TEXTS.mcp.problems[error.kind](this.host, error.message) };
    }
  }

  #callOnce(name: string, values: Record<string, unknown>, end: AbortSignal): Promise<SandboxResult> {
    const { value: status } = this.status;
    if (this.#connection) return this.#connection.call(name, values, end);
    throw status.kind === 'failed' ? status.problem : new McpProblem('lost');
  }
}

/** The MCP servers that the person added, with their tools. */
export class McpServers {
  readonly #servers = signal<readonly McpServer[]>([]);

  constructor(settings: Signal<SettingValues>) {
    let before: readonly McpServerSetting[] = [];
    effect(() => {
      const { mcpServers: wanted } = settings.value;
      if (wanted === before) return;
      before = wanted;
      untracked(() => this.#take(wanted));
    });
    addEventListener('storage', ({ key }) => {
      if (isAccessKey(key)) for (const server of this.#servers.peek()) void server.follow();
    });
  }

  get servers(): ReadonlySignal<readonly McpServer[]> {
    return this.#servers;
  }

  /** The tools of all servers that can be reached. Rejects only if it is aborted. */
  async tools(signal: AbortSignal): Promise<readonly PageTool[]> {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    const ready = Promise.all(this.#servers.value.map((server) => server.ready()));
    await Promise.race([ready, aborted]);
    return this.#servers.value.flatMap(({ status: { value } }) => (value.kind === 'open' ? value.tools : []));
  }

  /** Connections to servers that are still wanted stay. */
  #take(wanted: readonly McpServerSetting[]): void {
    const old = this.#servers.peek();
    const now = wanted.map(
      (setting) =>
        old.find((server) => JSON.stringify(server.setting) === JSON.stringify(setting)) ??
        new McpServer(setting),
    );
    for (const server of old) {
      if (now.includes(server)) continue;
      server.close();
      // Under another header it is still the same server.
      if (!wanted.some(({ address }) => address === server.setting.address)) server.forget();
    }
    this.#servers.value = now;
    for (const server of now) if (!old.includes(server)) void server.connect();
  }
}

/** A header that is written as `name: value`, none if it is empty; undefined if it is no header. */
export function headersOf(written: string): Record<string, string> | undefined {
  if (written.trim() === '') return {};
  const [, name = '', value = ''] = /^([^:]+):(.*)$/.exec(written.trim()) ?? [];
  try {
    return Object.fromEntries(new Headers({ [name]: value.trim() }));
  } catch {
    return undefined;
  }
}
