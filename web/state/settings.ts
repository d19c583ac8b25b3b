import { effect, type Signal, signal } from '@preact/signals';
import type { BrowserDeviceRequest } from '../../src/browser/index.ts';

/** What the user chose. Numbers that are undefined are left to the library. */
export interface SettingValues {
  readonly system: string;
  readonly temperature: number;
  readonly topP: number;
  /** Keeps small models from saying the same again and again; 1 is off. */
  readonly repeatPenalty: number;
  readonly maxTokens: number;
  /** Another one for each answer where undefined. */
  readonly seed: number | undefined;
  /** Positions of a conversation; taken when a model is loaded. */
  readonly context: number;
  /** How a conversation is kept while it goes on; taken when a model is loaded. */
  readonly cacheType: 'f16' | 'q8_0';
  readonly device: NonNullable<BrowserDeviceRequest['device']>;
  /** Whether loaded models stay in the browser. */
  readonly keep: boolean;
}

/** What a first visit begins with. */
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

/** The settings, kept from visit to visit. */
export function keptSettings(): Signal<SettingValues> {
  const settings = signal({ ...DEFAULT_SETTINGS, ...readKept() });
  effect(() => {
    const text = JSON.stringify(settings.value);
    try {
      localStorage.setItem(KEY, text);
    } catch {
      // Storage is full or forbidden: they last as long as the page.
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
