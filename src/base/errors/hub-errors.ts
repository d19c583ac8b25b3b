import { entry } from './entry.ts';

/** Failures of finding and pulling models by name. */
export const hubErrors = {
  MODEL_NAME_INVALID: entry<{ name: string; why: string }>(
    400,
    'A text cannot be the name of a model.',
    'Use hf:user/repo, hf:user/repo:Q4_K_M, ollama:name:tag, an http(s) address, or the path of a GGUF file.',
    (p) => `${p.name} does not name a model: ${p.why}`,
  ),
  HUB_NOT_FOUND: entry<{ model: string; what: string; known: string | undefined }>(
    404,
    'A hub does not have the model, revision or file that was asked for, or does not show it without a token.',
    'Check the name on the hub. For a private repository, set HF_TOKEN to a token that may read it.',
    ({ model, what, known }) => `${model}: ${what}${known === undefined ? '' : `; there is ${known}`}`,
  ),
  HUB_NOT_CACHED: entry<{ model: string; known: string | undefined }>(
    404,
    'A model that should be on this machine is not there.',
    'Run `rocmforge list` to see the models that are here, or `rocmforge pull` to get another one.',
    ({ model, known }) =>
      `${model} is not on this machine${known === undefined ? '' : `; there is ${known}`}`,
  ),
  HUB_ACCESS_DENIED: entry<{ model: string; page: string; token: boolean }>(
    403,
    'A repository is gated: its owner asks for conditions to be accepted, or for a token.',
    'Accept the conditions on the named page, and set HF_TOKEN to a token of the account that did.',
    ({ model, page, token }) =>
      `${model} may not be read ${token ? 'with this token' : 'without a token'}: see ${page}`,
  ),
  HUB_OFFLINE: entry<{ model: string }>(
    503,
    'A model is not on this machine, and requests are switched off.',
    'Pull the model while online, or leave out --offline and unset HF_HUB_OFFLINE.',
    ({ model }) => `${model} is not in the cache, and the hub is not asked in offline mode`,
  ),
  HUB_ANSWER_INVALID: entry<{ source: string; found: string; expected: string }>(
    502,
    'A hub or registry answered something that cannot be used.',
    'Check the address of the hub (HF_ENDPOINT) and the proxy, and try again.',
    (p) => `${p.source}: found ${p.found}, expected ${p.expected}`,
  ),
  DISK_FULL: entry<{ path: string; bytes: number; free: number }>(
    507,
    'A disk has too little free space for a model.',
    'Free space (rocmforge du shows what is kept), choose a smaller quantization, or set HF_HUB_CACHE to a folder of another disk.',
    (p) => `${p.path}: ${p.bytes} bytes are needed, ${p.free} are free`,
  ),
  DOWNLOAD_TAKEN_OVER: entry<{ model: string }>(
    409,
    'Another process took over a download, because this one had stood still for a minute.',
    'Start the command again: it waits for the other process and uses what that one stored.',
    (p) => `the download of ${p.model} was taken over by another process`,
  ),
} as const;
