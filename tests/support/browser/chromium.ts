import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { HUNG_MS } from '../hung.ts';

/** What a page does not show within this is taken for lost: well before the file is cancelled, which would not say what it was. */
const STUCK_MS = HUNG_MS / 20;

/** Set by `scripts/test.mjs` if it could unpack the browser. */
const FOLDER = process.env['ROCMFORGE_TEST_CHROMIUM'];

/** Why tests in a browser cannot run, or false. With CI set, a missing browser fails the tests. */
export const NO_BROWSER: string | false =
  FOLDER !== undefined || process.env['CI'] !== undefined
    ? false
    : 'no browser: run the tests by scripts/test.mjs, on Linux on x86-64';

/**
 * WebGPU in software, with the same Dawn switches as in Node: if indices are clamped again, and workgroup memory is
 * zeroed before kernels that write it first, SwiftShader takes several times as long to compile.
 */
const FLAGS = [
  '--no-zygote',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  '--enable-features=Vulkan',
  '--enable-dawn-features=disable_workgroup_init,disable_robustness',
];

/** How a page is displayed. */
export type Look = NonNullable<Parameters<typeof chromium.launchPersistentContext>[1]>;

/** A browser with its own profile, kept until disposal. */
export class TestBrowser implements AsyncDisposable {
  readonly #profile: string;
  readonly #folder: string;
  #context: BrowserContext;

  private constructor(folder: string, profile: string, context: BrowserContext) {
    this.#folder = folder;
    this.#profile = profile;
    this.#context = context;
  }

  static async open(look: Look = {}): Promise<TestBrowser> {
    if (FOLDER === undefined) throw new Error('there is no browser on this machine');
    const profile = mkdtempSync(join(tmpdir(), 'rocmforge-browser-'));
    return new TestBrowser(FOLDER, profile, await launch(FOLDER, profile, look));
  }

  /** Opens a page at an address and runs `first` before its scripts; exceptions fail the test. */
  async page(address: string, first = ''): Promise<Page> {
    const page = await this.#context.newPage();
    await page.addInitScript(first);
    page.on('pageerror', (error) => {
      throw error;
    });
    await page.goto(address);
    return page;
  }

  /** Kills the browser, like a crash, and restarts it with the same profile. */
  async restart(look: Look = {}): Promise<void> {
    await this.#context.close();
    this.#context = await launch(this.#folder, this.#profile, look);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function launch(folder: string, profile: string, look: Look): Promise<BrowserContext> {
  const context = await chromium.launchPersistentContext(profile, {
    timeout: HUNG_MS,
    executablePath: join(folder, 'chromium'),
    args: FLAGS,
    env: {
      ...process.env,
      LD_LIBRARY_PATH: join(folder, 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
    ...look,
  });
  context.setDefaultTimeout(STUCK_MS);
  return context;
}
