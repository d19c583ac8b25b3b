import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { HUNG_MS, until } from '../hung.ts';

/** What a page does not show within this is taken for lost. */
const STUCK_MS = HUNG_MS / 20;

/** The key of element references in WebDriver's answers (https://www.w3.org/TR/webdriver2/#elements). */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

/** An element of the page, as WebDriver refers to it. */
export type ElementReference = Readonly<Record<typeof ELEMENT, string>>;

/** WebDriver's commands that are used: Marionette's name of each, and the address over HTTP. */
const COMMANDS = {
  open: ['NewSession', 'POST', ''],
  close: ['DeleteSession', 'DELETE', ''],
  goto: ['Navigate', 'POST', '/url'],
  reload: ['Refresh', 'POST', '/refresh'],
  run: ['ExecuteAsyncScript', 'POST', '/execute/async'],
  click: ['ElementClick', 'POST', '/element/:id/click'],
  type: ['ElementSendKeys', 'POST', '/element/:id/value'],
  role: ['GetComputedRole', 'GET', '/element/:id/computedrole'],
  label: ['GetComputedLabel', 'GET', '/element/:id/computedlabel'],
  perform: ['PerformActions', 'POST', '/actions'],
  picture: ['TakeScreenshot', 'GET', '/screenshot'],
  resize: ['SetWindowRect', 'POST', '/window/rect'],
  window: ['GetWindowHandle', 'GET', '/window'],
  newWindow: ['NewWindow', 'POST', '/window/new'],
  toWindow: ['SwitchToWindow', 'POST', '/window'],
  closeWindow: ['CloseWindow', 'DELETE', '/window'],
  timeouts: ['SetTimeouts', 'POST', '/timeouts'],
} as const;
type Command = keyof typeof COMMANDS;
type Parameters = Readonly<Record<string, unknown>>;

/** How commands reach a browser. */
interface Transport {
  send(command: Command, parameters: Parameters): Promise<unknown>;
  /** Ends the browser. */
  close(): Promise<void>;
}

/** The browsers besides Chromium that the page is driven in. */
export type OtherBrowser = 'Firefox' | 'WebKit';

const WEBKIT_FOLDERS = ['webkit2gtk-4.1', 'webkit2gtk-4.0', 'webkitgtk-6.0'];

/** A path of a browser's program, or undefined if it is not installed. */
function programOf(browser: OtherBrowser): string | undefined {
  return browser === 'Firefox'
    ? (onPath('firefox-esr') ?? onPath('firefox'))
    : miniBrowser() && onPath('WebKitWebDriver');
}

/** WebKitGTK's own little browser, which Debian's packages of the library contain. */
function miniBrowser(): string | undefined {
  const folders = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/libexec', '/usr/lib'];
  return folders
    .flatMap((at) => WEBKIT_FOLDERS.map((folder) => join(at, folder, 'MiniBrowser')))
    .find(isThere);
}

function onPath(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isThere);
}

function isThere(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Why a browser cannot be driven on this machine, or false. */
export function whyNot(browser: OtherBrowser): string | false {
  if (!programOf(browser)) return `${browser} is not installed`;
  return browser === 'WebKit' && !onPath('Xvfb') ? 'WebKit needs a display: Xvfb is not installed' : false;
}

/** A browser driven by WebDriver: Firefox through Marionette, WebKitGTK through its driver. */
export class WebDriver implements AsyncDisposable {
  readonly #transport: Transport;

  private constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Starts a browser with a profile of its own. */
  static async open(browser: OtherBrowser): Promise<WebDriver> {
    const transport = browser === 'Firefox' ? await openFirefox() : await openWebKit();
    const driver = new WebDriver(transport);
    try {
      await transport.send('timeouts', { script: STUCK_MS, pageLoad: STUCK_MS });
      return driver;
    } catch (error) {
      await transport.close();
      throw error;
    }
  }

  async goto(url: string): Promise<void> {
    await this.#transport.send('goto', { url });
  }

  async reload(): Promise<void> {
    await this.#transport.send('reload', {});
  }

  /** The value of an expression in the page, awaited there. */
  async value<T>(expression: string, ...args: readonly unknown[]): Promise<T> {
    const script = `const done = arguments[arguments.length - 1], args = [...arguments].slice(0, -1);
      (async () => (${expression}))().then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    const answer = (await this.#transport.send('run', { script, args })) as { value?: T; error?: string };
    if (answer.error !== undefined) throw new Error(`${answer.error}: ${expression}`);
    return answer.value as T;
  }

  /** Waits until an expression is true in the page, and returns it. */
  async shown<T>(expression: string, ...args: readonly unknown[]): Promise<T> {
    const end = performance.now() + STUCK_MS;
    for (;;) {
      // While a page is loaded there is none to ask.
      const found = await this.value<T | undefined>(expression, ...args).catch(() => undefined);
      if (found) return found;
      if (performance.now() > end) throw new Error(`never came: ${expression} ${JSON.stringify(args)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Clicks like a person: fails if something is in front of the element. */
  async click(element: ElementReference): Promise<void> {
    await this.#transport.send('click', { id: element[ELEMENT] });
  }

  /** Types into an element. */
  async type(element: ElementReference, text: string): Promise<void> {
    await this.#transport.send('type', { id: element[ELEMENT], text });
  }

  /** Presses keys one after the other, where the focus is; `held` stay down meanwhile. */
  async press(keys: string, held = ''): Promise<void> {
    const actions = [
      ...[...held].map((value) => ({ type: 'keyDown', value })),
      ...[...keys].flatMap((value) => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ]),
      ...[...held].map((value) => ({ type: 'keyUp', value })),
    ];
    await this.#transport.send('perform', { actions: [{ type: 'key', id: 'keyboard', actions }] });
  }

  /** The role and the name that the browser gives an element in its accessibility tree. */
  async accessible(element: ElementReference): Promise<{ role: string; name: string }> {
    const id = element[ELEMENT];
    const role = await this.#transport.send('role', { id });
    return { role: String(role), name: String(await this.#transport.send('label', { id })) };
  }

  async resize(width: number, height: number): Promise<void> {
    await this.#transport.send('resize', { width, height });
  }

  /** A picture of the window, as PNG. */
  async picture(path: string): Promise<void> {
    writeFileSync(
      path,
      Buffer.from(String(await this.#transport.send('picture', { full: false })), 'base64'),
    );
  }

  /** Opens a page in a tab of its own, where what follows happens until the returned function goes back and closes it. */
  async tab(url: string): Promise<() => Promise<void>> {
    const before = String(await this.#transport.send('window', {}));
    const { handle } = (await this.#transport.send('newWindow', { type: 'tab' })) as { handle: string };
    await this.#transport.send('toWindow', { handle });
    await this.goto(url);
    return async () => {
      await this.#transport.send('closeWindow', {});
      await this.#transport.send('toWindow', { handle: before });
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#transport.close();
  }
}

/** Settings of Firefox's profile: nothing but the tests' pages is asked for. */
const FIREFOX_SETTINGS = {
  'app.update.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false,
  'dom.disable_beforeunload': true,
  'dom.ipc.processCount': 2,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
  'toolkit.telemetry.server': 'data:,',
};

async function openFirefox(): Promise<Transport> {
  const profile = mkdtempSync(join(tmpdir(), 'rocmforge-firefox-'));
  const port = await freePort();
  const settings = { ...FIREFOX_SETTINGS, 'marionette.port': port };
  const lines = Object.entries(settings).map(
    ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`,
  );
  writeFileSync(join(profile, 'user.js'), lines.join('\n'));
  const args = ['--headless', '--marionette', '--no-remote', '--profile', profile, 'about:blank'];
  const browser = start(programOf('Firefox') ?? '', args, { HOME: profile, MOZ_CRASHREPORTER_DISABLE: '1' });
  const close = async () => {
    await end(browser);
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const marionette = await Marionette.connect(port, () => browser.exitCode !== null);
    await marionette.send('open', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
    return {
      send: (command, parameters) => marionette.send(command, parameters),
      close: async () => {
        marionette.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Firefox's own protocol of WebDriver's commands: `length:[0, id, name, parameters]`, answered by `length:[1, id, error, result]`. */
class Marionette {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #received = Buffer.alloc(0);
  #last = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (data) => this.#take(data));
    socket.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('Firefox closed the connection'));
    });
    socket.on('error', () => {});
  }

  static async connect(port: number, ended: () => boolean): Promise<Marionette> {
    let socket: Socket | undefined;
    await until(
      () => (ended() ? 'Firefox ended' : 'Firefox does not listen'),
      async () => {
        const attempt = connect(port, '127.0.0.1');
        const opened = await Promise.race([
          once(attempt, 'connect').then(() => true),
          once(attempt, 'close').then(() => false),
        ]).catch(() => false);
        if (opened) socket = attempt;
        return opened;
      },
    );
    return new Marionette(socket as Socket);
  }

  async send(command: Command, parameters: Parameters): Promise<unknown> {
    const id = ++this.#last;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    const body = JSON.stringify([0, id, `WebDriver:${COMMANDS[command][0]}`, parameters]);
    this.#socket.write(`${Buffer.byteLength(body)}:${body}`);
    const result = (await answer) as { value?: unknown } | null;
    return result !== null && typeof result === 'object' && 'value' in result ? result.value : result;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(data: Buffer): void {
    this.#received = Buffer.concat([this.#received, data]);
    for (;;) {
      const colon = this.#received.indexOf(':');
      if (colon < 0) return;
      const end = colon + 1 + Number(this.#received.subarray(0, colon).toString());
      if (this.#received.length < end) return;
      const message = JSON.parse(this.#received.subarray(colon + 1, end).toString()) as unknown;
      this.#received = this.#received.subarray(end);
      // The first message greets.
      if (Array.isArray(message))
        this.#answer(message as [number, number, { message: string } | null, unknown]);
    }
  }

  #answer([, id, error, result]: [number, number, { message: string } | null, unknown]): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result);
  }
}

async function openWebKit(): Promise<Transport> {
  const home = mkdtempSync(join(tmpdir(), 'rocmforge-webkit-'));
  const port = await freePort();
  const display = await startDisplay();
  const env = {
    DISPLAY: display.name,
    HOME: home,
    XDG_RUNTIME_DIR: home,
    // In a container without user namespaces, its sandbox does not start.
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
    GSK_RENDERER: 'cairo',
    LIBGL_ALWAYS_SOFTWARE: '1',
  };
  const driver = start(programOf('WebKit') ?? '', [`--port=${port}`, '--host=127.0.0.1'], env);
  const base = `http://127.0.0.1:${port}/session`;
  let session = '';
  const send = async (command: Command, parameters: Parameters): Promise<unknown> => {
    const [, method, path] = COMMANDS[command];
    const { id, ...rest } = parameters;
    const url = `${base}${session}${path.replace(':id', String(id))}`;
    const given = command === 'toWindow' ? { handle: rest['handle'] } : rest;
    const body = method === 'POST' ? { body: JSON.stringify(given) } : {};
    const response = await fetch(url, { method, ...body });
    const { value } = (await response.json()) as { value: unknown };
    if (!response.ok) throw new Error(JSON.stringify(value));
    return value;
  };
  const close = async () => {
    if (session) await send('close', {}).catch(() => {});
    await end(driver);
    await end(display.process);
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const status = `http://127.0.0.1:${port}/status`;
    await until(
      () => 'the driver of WebKit does not listen',
      async () => Boolean(await fetch(status).catch(() => undefined)),
    );
    const options = { binary: miniBrowser(), args: ['--automation'] };
    const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': options } };
    const { sessionId } = (await send('open', { capabilities })) as { sessionId: string };
    session = `/${sessionId}`;
    return { send, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A display without a screen. */
async function startDisplay(): Promise<{ name: string; process: ChildProcess }> {
  const folder = mkdtempSync(join(tmpdir(), 'rocmforge-display-'));
  const told = join(folder, 'display');
  const child = spawn(
    'sh',
    ['-c', `exec Xvfb -displayfd 3 -screen 0 1400x1000x24 -nolisten tcp 3> '${told}'`],
    { stdio: 'ignore', detached: true },
  );
  let number = '';
  await until(
    () => 'Xvfb does not start',
    async () => {
      number = isThere(told) ? readFileSync(told, 'utf8').trim() : '';
      return number !== '';
    },
  );
  rmSync(folder, { recursive: true, force: true });
  return { name: `:${number}`, process: child };
}

/** Starts a program in a process group of its own, so that its children end with it. */
function start(program: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  // The tests' own libraries are Chromium's.
  const { LD_LIBRARY_PATH: _, ...inherited } = process.env;
  return spawn(program, args, { stdio: 'ignore', detached: true, env: { ...inherited, ...env } });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const closed = once(child, 'close');
  process.kill(-child.pid, 'SIGKILL');
  await closed;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
