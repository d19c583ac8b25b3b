import { effect, type Signal, signal } from '@preact/signals';
import type { BrowserDeviceRequest } from '../../src/browser/index.ts';
import type { Sampling } from './engine.ts';

/** An MCP server that the person added. */
export interface McpServerSetting {
  readonly address: string;
  /** A header that goes with every request, such as a key, as `name: value`; may be empty. */
  readonly header: string;
}

/** A system prompt with a name. */
export interface Preset {
  readonly name: string;
  readonly text: string;
}

/** The user's settings. Sampling that is undefined is as the model recommends. */
export interface SettingValues extends Sampling {
  readonly system: string;
  /** Whether models may ask to run JavaScript. */
  readonly javascript: boolean;
  /** The servers whose tools models may ask to use. */
  readonly mcpServers: readonly McpServerSetting[];
  readonly theme: 'system' | 'light' | 'dark';
  /** System prompts to choose from. */
  readonly presets: readonly Preset[];
  /** Whether models reason before they answer, if they can, and for how long. */
  readonly thinking: 'model' | 'yes' | 'little' | 'some' | 'much' | 'no';
  /** What conversations are called whose first message is longer than a title: by words of the server's model, or by its first ones. */
  readonly titles: 'model' | 'words';
  /**
   * What happens when a conversation is longer than the context: the oldest turns are left out, or the model is told them in
   * short, or nothing is sent.
   */
  readonly whenFull: 'leave-out' | 'summarize' | 'ask';
  /** Further fields of requests to the server, as JSON. */
  readonly serverFields: string;
  /** A pasted text of more characters becomes a file; 0: none does. */
  readonly pastedFile: number;
  /** Maximum positions of a conversation in this browser; applied when a model is loaded. */
  readonly context: number;
  /** The type of the KV cache; applied when a model is loaded. */
  readonly cacheType: 'f16' | 'q8_0';
  readonly device: NonNullable<BrowserDeviceRequest['device']>;
  /** Whether loaded models are kept in the browser's storage. */
  readonly keep: boolean;
  /** Where models are looked for: the address of Hugging Face or of a mirror. */
  readonly hub: string;
}

/** The settings of a first visit. */
export const DEFAULT_SETTINGS: SettingValues = {
  system: '',
  theme: 'system',
  javascript: false,
  mcpServers: [],
  presets: [],
  thinking: 'model',
  titles: 'model',
  whenFull: 'leave-out',
  pastedFile: 2500,
  serverFields: '',
  context: 4096,
  cacheType: 'f16',
  device: 'auto',
  keep: true,
  hub: 'https://huggingface.co',
};

const KEY = 'rocmforge settings';

/** The settings, which persist between visits and are the same in all tabs. */
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
  effect(() => {
    const { theme } = settings.value;
    document.documentElement.style.colorScheme = theme === 'system' ? '' : theme;
  });
  addEventListener('storage', ({ key }) => {
    if (key === KEY) settings.value = { ...DEFAULT_SETTINGS, ...readKept() };
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
