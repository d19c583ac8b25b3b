import { effect, type Signal, signal } from '@preact/signals';
import type { BrowserDeviceRequest } from '../../src/browser/index.ts';

/** The user's settings. For undefined numbers, the library's defaults apply. */
export interface SettingValues {
  readonly system: string;
  readonly temperature: number;
  readonly topP: number;
  /** Keeps small models from repeating themselves; 1 is off. */
  readonly repeatPenalty: number;
  readonly maxTokens: number;
  /** If undefined, each answer gets a new one. */
  readonly seed: number | undefined;
  /** Maximum positions of a conversation; applied when a model is loaded. */
  readonly context: number;
  /** The type of the KV cache; applied when a model is loaded. */
  readonly cacheType: 'f16' | 'q8_0';
  readonly device: NonNullable<BrowserDeviceRequest['device']>;
  /** Whether loaded models are kept in the browser's storage. */
  readonly keep: boolean;
}

/** The settings of a first visit. */
export const DEFAULT_SETTINGS: SettingValues = {
  system: '',
  temperature: 0.7,
  topP: 0.9,
  repeatPenalty: 1.1,
  maxTokens: 512,
  seed: undefined,
  context: 4096,
  cacheType: 'f16',
  device: 'auto',
  keep: true,
};

const KEY = 'rocmforge settings';

/** The settings, which persist between visits. */
export function keptSettings(): Signal<SettingValues> {
  const settings = signal({ ...DEFAULT_SETTINGS, ...readKept() });
  effect(() => {
    const text = JSON.stringify(settings.value);
    try {
      localStorage.setItem(KEY, text);
    } catch {
      // Storage is full or forbidden: the settings last until the page is closed.
    }
  });
  return settings;
}

function readKept(): Partial<SettingValues> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof kept === 'object' && kept !== null ? kept : {};
  } catch {
    return {};
  }
}
