/** Engines that run in a page. */
export const ENGINES = ['rocmforge', 'wllama', 'transformers.js'] as const;

export type Engine = (typeof ENGINES)[number];

/** What a page is given. */
export interface PageOptions {
  readonly threads: number;
  /** The address of a GGUF file, relative to the page. */
  readonly model: string;
}

/**
 * The scripts of the pages: each has `load(options)`, which resolves to `run(prompt, count)`, and that once so many tokens are generated,
 * always the likeliest one, and none that ends the text.
 */
export const SCRIPTS: Readonly<Record<Engine, string>> = {
  rocmforge: `
    import { loadModel } from './browser/index.js';
    globalThis.load = async ({ threads, model }) => {
      const loaded = await loadModel(model, { device: 'cpu', threads, keep: false });
      return (prompt, maxTokens) => loaded.generate(prompt, { temperature: 0, maxTokens, ignoreEnd: true }).text();
    };`,
  wllama: `
    import { Wllama } from './peers/wllama/esm/index.js';
    globalThis.load = async ({ threads, model }) => {
      const wllama = new Wllama({ default: new URL('./peers/wllama/esm/wasm/wllama.wasm', location.href).href }, { suppressNativeLog: true });
      const file = await (await fetch(model)).blob();
      await wllama.loadModel([file], { n_threads: threads, n_ctx: 2048, n_gpu_layers: 0 });
      return (prompt, max_tokens) => wllama.createCompletion({ prompt, max_tokens, temperature: 0, ignore_eos: true, cache_prompt: false });
    };`,
  'transformers.js': `
    import { AutoModelForCausalLM, AutoTokenizer, env } from './peers/transformers/dist/transformers.min.js';
    globalThis.load = async ({ threads }) => {
      env.allowRemoteModels = false;
      env.allowLocalModels = true;
      env.localModelPath = './peers/';
      env.useBrowserCache = false;
      env.backends.onnx.wasm.wasmPaths = new URL('./peers/onnxruntime/dist/', location.href).href;
      env.backends.onnx.wasm.numThreads = threads;
      const tokenizer = await AutoTokenizer.from_pretrained('minimind');
      const model = await AutoModelForCausalLM.from_pretrained('minimind', { dtype: 'q8', device: 'wasm' });
      return (prompt, count) =>
        model.generate({ ...tokenizer(prompt, { add_special_tokens: false }), max_new_tokens: count, min_new_tokens: count, do_sample: false });
    };`,
};

/** A page of its own for each engine. */
export function pageOf(engine: Engine): string {
  return `<!doctype html><title>${engine}</title><script type="module">${SCRIPTS[engine]}</script>`;
}
