import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fail } from '../../base/errors.ts';
import { cacheFolder } from '../disk-kernel-cache.ts';

/** Where models come from and where they are kept: what the environment says, in the variables of Hugging Face's tools. */
export interface HubSettings {
  /** The hub's address, without a slash at the end. */
  readonly endpoint: string;
  /** The folder of repositories, in the layout that Hugging Face's libraries share. */
  readonly cache: string;
  /** The folder of models from elsewhere, in the same layout. */
  readonly otherCache: string;
  readonly token: string | undefined;
  readonly offline: boolean;
  /** Longest wait for a connection's next byte, in milliseconds. */
  readonly idleMs: number;
}

const DEFAULT_ENDPOINT = 'https://huggingface.co';
const DEFAULT_IDLE_SECONDS = 30;
const SECOND_MS = 1000;
const ON = /^(?:1|true|yes|on)$/i;
const OFF = /^(?:0|false|no|off)$/i;

/**
 * Reads `HF_ENDPOINT`, `HF_HOME`, `HF_HUB_CACHE`, `HF_TOKEN`, `HF_TOKEN_PATH`, `HF_HUB_OFFLINE`, `HF_HUB_DOWNLOAD_TIMEOUT` and
 * `XDG_CACHE_HOME`, as huggingface_hub does; without `HF_TOKEN`, the token is in the file that its login wrote. Rejects
 * with `INVALID_ARGUMENT`.
 */
export async function readHubSettings(environment: NodeJS.ProcessEnv = process.env): Promise<HubSettings> {
  const value = (...names: string[]) => names.map((name) => environment[name]?.trim()).find((text) => text);
  const base = value('XDG_CACHE_HOME') ?? join(homedir(), '.cache');
  const home = value('HF_HOME') ?? join(base, 'huggingface');
  const endpoint = (value('HF_ENDPOINT') ?? DEFAULT_ENDPOINT).replace(/\/+$/, '');
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    fail('INVALID_ARGUMENT', { name: 'HF_ENDPOINT', found: endpoint, expected: 'an http(s) address' });
  }
  const seconds = Number(value('HF_HUB_DOWNLOAD_TIMEOUT') ?? DEFAULT_IDLE_SECONDS);
  if (!(seconds > 0)) {
    const found = value('HF_HUB_DOWNLOAD_TIMEOUT') ?? '';
    fail('INVALID_ARGUMENT', { name: 'HF_HUB_DOWNLOAD_TIMEOUT', found, expected: 'seconds' });
  }
  const offline = value('HF_HUB_OFFLINE') ?? '0';
  if (!ON.test(offline) && !OFF.test(offline)) {
    fail('INVALID_ARGUMENT', { name: 'HF_HUB_OFFLINE', found: offline, expected: '1 or 0' });
  }
  const tokenFile = value('HF_TOKEN_PATH') ?? join(home, 'token');
  return {
    endpoint,
    cache: value('HF_HUB_CACHE', 'HUGGINGFACE_HUB_CACHE') ?? join(home, 'hub'),
    otherCache: join(cacheFolder(environment), 'models'),
    token: tokenOf(value('HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN') ?? (await tokenIn(tokenFile))),
    offline: ON.test(offline),
    idleMs: seconds * SECOND_MS,
  };
}

/** Throws `INVALID_ARGUMENT` for one that no header can have; it is not shown. */
function tokenOf(token: string | undefined): string | undefined {
  if (token === undefined || /^[!-~]+$/.test(token)) return token;
  const found = 'a text with spaces, line breaks or characters beyond ASCII';
  return fail('INVALID_ARGUMENT', { name: 'HF_TOKEN', found, expected: 'a token such as hf_...' });
}

/** Undefined if nobody has logged in. */
async function tokenIn(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.trim() === '' ? undefined : text.trim();
}
