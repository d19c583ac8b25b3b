import type { Logger } from '../../base/log.ts';
import type { LoadOptions, LoadReport } from '../../load/async-model-loader.ts';
import type { ExecutionPlan } from '../../plan/execution-plan.ts';

/** Every `LoadMode`. */
export const LOAD_MODES = ['background', 'eager', 'hybrid', 'lazy', 'sync'] as const;

/**
 * When weights are loaded. `background`: at once, and steps run meanwhile, each layer as soon as it is there. `eager`: all
 * before the model is given out. `hybrid`: embedding, head and the first layers before, the others when they are needed.
 * `lazy`: when they are needed. `sync`: as `eager`, one piece after the other, to compare with.
 */
export type LoadMode = (typeof LOAD_MODES)[number];

/** How weights are loaded and watched. */
export interface LoadModeOptions extends LoadOptions {
  readonly mode: LoadMode;
  /** Layers that `hybrid` loads before the others are asked for. Default: a quarter of them. */
  readonly layers?: number | undefined;
  readonly logger: Logger;
  /** Seconds that went by before the first byte of a weight was asked for. */
  readonly before: Readonly<Record<'open' | 'plan', number>>;
}

/** Loads what the mode wants before anything asks for it. */
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
