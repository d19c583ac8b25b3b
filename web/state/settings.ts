import { effect, type Signal, signal } from '@preact/signals';
import type { BrowserDeviceRequest } from '../../src/browser/index.ts';
import { type Fields, fields, list, number, oneOf, text } from './checked-fields.ts';
import { isSampling, type Sampling } from './engine.ts';

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
    return checkedSettings(fields(JSON.parse(localStorage.getItem(KEY) ?? '{}')));
  } catch {
    return {};
  }
}

/** The words that settings choose from. */
const CHOICES: {
  readonly [
    Name in 'theme' | 'thinking' | 'titles' | 'whenFull' | 'cacheType' | 'device'
  ]: readonly SettingValues[Name][];
} = {
  theme: ['system', 'light', 'dark'],
  thinking: ['model', 'yes', 'little', 'some', 'much', 'no'],
  titles: ['model', 'words'],
  whenFull: ['leave-out', 'summarize', 'ask'],
  cacheType: ['f16', 'q8_0'],
  device: ['auto', 'webgpu', 'cpu'],
};

/** The lists among the settings, by what makes one of theirs of an object. */
const LISTS = {
  presets: ({ name, text: of }: Fields): Preset | undefined =>
    typeof name === 'string' && typeof of === 'string' ? { name, text: of } : undefined,
  mcpServers: ({ address, header }: Fields): McpServerSetting | undefined =>
    typeof address === 'string' && URL.canParse(address)
      ? { address, header: text(header) ?? '' }
      : undefined,
};

/** What is a setting of its type, and nothing else: what is kept may be of another version, and has to leave the page as it is. */
function checkedSettings(kept: Fields): Partial<SettingValues> {
  const checked = Object.entries(kept).map(([name, value]) => [name, checkedSetting(name, value)] as const);
  return Object.fromEntries(checked.filter(([, value]) => value !== undefined));
}

function checkedSetting(name: string, value: unknown): unknown {
  if (Object.hasOwn(CHOICES, name)) return oneOf(value, CHOICES[name as keyof typeof CHOICES]);
  if (Object.hasOwn(LISTS, name))
    return list<Preset | McpServerSetting>(value, LISTS[name as keyof typeof LISTS]);
  if (isSampling(name)) return number(value);
  const usual: unknown = Object.hasOwn(DEFAULT_SETTINGS, name)
    ? DEFAULT_SETTINGS[name as keyof SettingValues]
    : undefined;
  return typeof value === typeof usual && !Number.isNaN(value) ? value : undefined;
}
