import type { Logger } from '../../base/log.ts';
import type { LoadOptions, LoadReport } from '../../load/async-model-loader.ts';
import type { ExecutionPlan } from '../../plan/execution-plan.ts';

/** Every `LoadMode`. */
export const LOAD_MODES = ['background', 'eager', 'hybrid', 'lazy', 'sync'] as const;

/**
 * When weights are loaded. `background`: immediately, and steps run meanwhile, each layer as soon as its weights
 * arrive. `eager`: all before the model is returned. `hybrid`: embedding, head and the first layers before, the others
 * on demand. `lazy`: on demand. `sync`: like `eager`, one chunk after another, for comparison.
 */
export type LoadMode = (typeof LOAD_MODES)[number];

/** How weights are loaded and observed. */
export interface LoadModeOptions extends LoadOptions {
  readonly mode: LoadMode;
  /** Number of layers that `hybrid` loads in advance. Default: a quarter of them. */
  readonly layers?: number | undefined;
  readonly logger: Logger;
  /** Seconds spent before the first weight was requested. */
  readonly before: Readonly<Record<'open' | 'plan', number>>;
}

/** Loads what the mode loads in advance. */
export async function loadByMode(plan: ExecutionPlan, options: LoadModeOptions): Promise<LoadReport> {
  try {
    const loaded = await begin(plan, options);
    const { open, plan: planned } = options.before;
    const before = { open: { busy: open, sum: open }, plan: { busy: planned, sum: planned } };
    const report = { ...loaded, breakdown: { ...loaded.breakdown, ...before } };
    options.logger.debug('loaded', { mode: options.mode, ...report });
    return report;
  } catch (error) {
    options.logger.debug('loading failed', { mode: options.mode, error });
    throw error;
  }
}

function begin(plan: ExecutionPlan, { mode, layers, ...options }: LoadModeOptions): Promise<LoadReport> {
  if (mode === 'lazy') return plan.preload([], options);
  if (mode === 'hybrid') return plan.preloadLayers(layers ?? Math.ceil(plan.layerCount / 4), options);
  return mode === 'background' ? plan.loadInBackground(options) : plan.preloadAll(options);
}
