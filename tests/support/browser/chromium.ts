import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { HUNG_MS } from '../hung.ts';

/** Set by `scripts/test.mjs` where it could unpack the browser. */
const FOLDER = process.env['ROCMFORGE_TEST_CHROMIUM'];

/** Why tests in a browser cannot run here, or false. With CI set, a missing browser is a failure of the tests. */
export const NO_BROWSER: string | false =
  FOLDER !== undefined || process.env['CI'] !== undefined
    ? false
    : 'no browser: run the tests by scripts/test.mjs, on Linux on x86-64';

/**
 * WebGPU in software, with Dawn's switches as in Node: where indices are bounded once more, and workgroup memory is zeroed before
 * kernels that write it first, SwiftShader compiles several times as long.
 */
const FLAGS = [
  '--no-zygote',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  '--enable-features=Vulkan',
  '--enable-dawn-features=disable_workgroup_init,disable_robustness',
];

/** How a page is looked at. */
export type Look = NonNullable<Parameters<typeof chromium.launchPersistentContext>[1]>;

/** A browser with a profile of its own, which it keeps until it is disposed. */
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

  /** A new page at an address, before whose own scripts `first` runs; what it throws fails the test. */
  async page(address: string, first = ''): Promise<Page> {
    const page = await this.#context.newPage();
    await page.addInitScript(first);
    page.on('pageerror', (error) => {
      throw error;
    });
    await page.goto(address);
    return page;
  }

  /** Ends the browser as a crash would, and starts it with the same profile. */
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
  context.setDefaultTimeout(HUNG_MS);
  return context;
}
