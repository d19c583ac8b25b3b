import type { BrowserModel, BrowserLoadProgress } from '../../src/browser/index.ts';
import type { BackendName } from '../../src/browser/open-device.ts';
import { type LoadRequest, library } from './model-session.ts';

/** What is measured, as by llama-bench: `pp` processes a prompt, `tg` generates after it. */
export interface BenchPlan {
  readonly devices: readonly BackendName[];
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly repetitions: number;
}

/** Tokens per second of one test: the mean of its repetitions, and their standard deviation. */
export interface BenchRow {
  readonly device: BackendName;
  /** The device by its own name, with its threads if it has some. */
  readonly name: string;
  readonly test: string;
  readonly mean: number;
  readonly deviation: number;
}

/** What came of a benchmark, as it is shown and shared. */
export interface BenchResult {
  readonly model: string;
  readonly modelBytes: number;
  readonly rows: readonly BenchRow[];
  /** Bytes on the device by the engine's plan: weights, cache and buffers; the largest of the devices. */
  readonly plannedBytes: number;
  /** The most memory of the page and its workers that the browser told of; undefined if it does not tell. */
  readonly peakBytes: number | undefined;
  /** The same greedy answer on both devices: how many of its tokens agree from the first on. */
  readonly agreement: { readonly tokens: number; readonly of: number } | undefined;
  /** The browser, by what it says of itself. */
  readonly browser: string;
  readonly processors: number;
}

/** What a benchmark does at the moment. */
export type BenchStage =
  | { readonly kind: 'load'; readonly device: BackendName; readonly share: number | undefined }
  | { readonly kind: 'test'; readonly device: BackendName; readonly test: string };

/** Tokens of the answer that is compared between devices. */
const COMPARED = 32;
/** Ids that every vocabulary has; a prompt's words do not matter for its time. */
const FIRST_ID = 16;
const IDS = 200;

/** Runs a benchmark on one device after the other. Rejects with what fails, and with the signal's reason. */
export async function runBench(
  { location, title, sha256 }: LoadRequest,
  plan: BenchPlan,
  { onStage, signal }: { onStage: (stage: BenchStage) => void; signal: AbortSignal },
): Promise<BenchResult> {
  const { loadModel } = await library();
  const context = plan.promptTokens + plan.generatedTokens + COMPARED;
  const rows: BenchRow[] = [];
  const answers: (readonly number[])[] = [];
  let modelBytes = 0;
  let plannedBytes = 0;
  let peakBytes: number | undefined;
  for (const device of plan.devices) {
    const onProgress = ({ bytes, totalBytes }: BrowserLoadProgress) =>
      onStage({ kind: 'load', device, share: totalBytes === undefined ? undefined : bytes / totalBytes });
    onStage({ kind: 'load', device, share: undefined });
    const model = await loadModel(location, { device, context, sha256, onProgress, signal, load: 'eager' });
    try {
      modelBytes = model.byteLength;
      plannedBytes = Math.max(plannedBytes, model.fit.total);
      const onTest = (test: string) => onStage({ kind: 'test', device, test });
      rows.push(...(await testsOf(model, plan, { device, onTest, signal })));
      answers.push(await compared(model, signal));
      const used = await pageMemory();
      if (used !== undefined) peakBytes = Math.max(peakBytes ?? 0, used);
    } finally {
      await model.dispose();
    }
  }
  const { userAgent, hardwareConcurrency: processors } = navigator;
  const agreement = agreementOf(answers);
  return {
    model: title,
    modelBytes,
    rows,
    plannedBytes,
    peakBytes,
    agreement,
    browser: userAgent,
    processors,
  };
}

async function testsOf(
  model: BrowserModel,
  { promptTokens, generatedTokens, repetitions }: BenchPlan,
  { device, onTest, signal }: { device: BackendName; onTest: (test: string) => void; signal: AbortSignal },
): Promise<BenchRow[]> {
  const { name, details } = model.device.info;
  const threads = details?.['threads'];
  const named = threads === undefined ? name : `${name}, ${String(threads)} threads`;
  const tests = [
    { test: `pp${promptTokens}`, rate: () => promptRate(model, promptTokens, signal) },
    { test: `tg${generatedTokens}`, rate: () => generationRate(model, generatedTokens, signal) },
  ];
  const rows: BenchRow[] = [];
  for (const { test, rate } of tests) {
    onTest(test);
    // Kernels are compiled, and memory is touched, by the first.
    await rate();
    const rates: number[] = [];
    while (rates.length < repetitions) rates.push(await rate());
    rows.push({ device, name: named, test, ...statisticsOf(rates) });
  }
  return rows;
}

const GREEDY = { temperature: 0, ignoreEnd: true } as const;

const promptOf = (length: number) => Array.from({ length }, (_, at) => FIRST_ID + ((at * 7) % IDS));

async function promptRate(model: BrowserModel, tokens: number, signal: AbortSignal): Promise<number> {
  await model.reset();
  const begin = performance.now();
  for await (const _ of model.generate(promptOf(tokens), { ...GREEDY, maxTokens: 1, signal }));
  return tokens / ((performance.now() - begin) / 1000);
}

/** From the first token on, so that the prompt of one token does not count. */
async function generationRate(model: BrowserModel, tokens: number, signal: AbortSignal): Promise<number> {
  await model.reset();
  let first: number | undefined;
  for await (const _ of model.generate(promptOf(1), { ...GREEDY, maxTokens: tokens + 1, signal })) {
    first ??= performance.now();
  }
  return tokens / ((performance.now() - (first ?? 0)) / 1000);
}

async function compared(model: BrowserModel, signal: AbortSignal): Promise<readonly number[]> {
  await model.reset();
  const ids: number[] = [];
  for await (const { token } of model.generate(promptOf(8), { ...GREEDY, maxTokens: COMPARED, signal })) {
    if (token) ids.push(token.id);
  }
  return ids;
}

function agreementOf([first, second]: readonly (readonly number[])[]): BenchResult['agreement'] {
  if (!first || !second) return undefined;
  const differs = first.findIndex((id, at) => second[at] !== id);
  return { tokens: differs < 0 ? first.length : differs, of: first.length };
}

function statisticsOf(rates: readonly number[]): Pick<BenchRow, 'mean' | 'deviation'> {
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  const squares = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0);
  return { mean, deviation: rates.length > 1 ? Math.sqrt(squares / (rates.length - 1)) : 0 };
}

/** Bytes of the page and its workers, where an isolated page may ask (https://wicg.github.io/performance-measure-memory/). */
async function pageMemory(): Promise<number | undefined> {
  const { measureUserAgentSpecificMemory: measure } = performance as Performance & {
    readonly measureUserAgentSpecificMemory?: () => Promise<{ readonly bytes: number }>;
  };
  try {
    return measure && (await measure.call(performance)).bytes;
  } catch {
    return undefined;
  }
}
