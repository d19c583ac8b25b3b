import { fail } from '../../base/errors.ts';

/** A model in a repository of the Hugging Face hub, or of a mirror. */
export interface HubName {
  readonly kind: 'hub';
  /** `user/repository`. */
  readonly repo: string;
  /** Branch, tag or commit. */
  readonly revision: string;
  /** The quantization asked for, such as `Q4_K_M`; undefined leaves the choice open. */
  readonly quantization?: string | undefined;
  /** The path of one file in the repository, instead of a quantization. */
  readonly file?: string | undefined;
}

/** A model of a registry that works as Ollama's. */
export interface OllamaName {
  readonly kind: 'ollama';
  /** The registry's address, without a path. */
  readonly registry: string;
  /** `namespace/name`. */
  readonly repo: string;
  readonly tag: string;
}

/** A file at an address. */
export interface UrlName {
  readonly kind: 'url';
  readonly url: string;
}

/** A model as it is named by users. */
export type ModelName = HubName | OllamaName | UrlName;

const OLLAMA_REGISTRY = 'https://registry.ollama.ai';
const DEFAULT_REVISION = 'main';
/** What stands for no particular tag. */
const LATEST = 'latest';

const HUB_HOSTS = /^(?:www\.)?(?:hf\.co|huggingface\.co)$/i;
const SCHEME = /^https?:\/\//i;
/** What names a model of a hub or a registry wherever a location is expected. */
const PREFIXED = /^(?:hf:|ollama:|(?:www\.)?(?:hf\.co|huggingface\.co)\/)/i;
/** A page about a file, where a browser shows it: no file is at that address. */
const FILE_PAGE = /^https?:\/\/(?:www\.)?(?:hf\.co|huggingface\.co)\/[^/]+\/[^/]+\/blob\//i;
const REPO = /^\w[\w.-]{0,95}\/\w[\w.-]{0,95}$/;
const WORD = /^\w[\w.-]{0,127}$/;
const EXTENSION = '.gguf';

/** True for a text that can only be the name of a model, whatever files there are. */
export function isModelName(text: string): boolean {
  return PREFIXED.test(text) || FILE_PAGE.test(text);
}

/** True for `user/repo`, `user/repo:quantization` and `user/repo@revision`: a model's name unless there is such a file. */
export function isBareName(text: string): boolean {
  const [, repo = '', tag] = /^([^:@]+)(?:@[^:@]+)?(?::([^:]+))?$/.exec(text) ?? [];
  if (!REPO.test(repo)) return false;
  return tag === undefined ? !text.endsWith(EXTENSION) : WORD.test(tag);
}

/**
 * Reads `hf:user/repo[@revision][:quantization]`, the same after `hf.co/` or `huggingface.co/` or bare, addresses of the hub's
 * pages and files, `ollama:name[:tag]` and http(s) addresses. `endpoint` is the address of the hub or its mirror. Throws
 * `MODEL_NAME_INVALID`.
 */
export function parseModelName(text: string, endpoint: string): ModelName {
  const invalid = (why: string): never => fail('MODEL_NAME_INVALID', { name: text, why });
  if (/^ollama:/i.test(text)) return ollamaName(text.slice('ollama:'.length), invalid);
  if (SCHEME.test(text)) {
    const url = URL.canParse(text) ? new URL(text) : invalid('the address cannot be parsed');
    const isHub = HUB_HOSTS.test(url.hostname) || url.origin === new URL(endpoint).origin;
    return isHub
      ? hubName(decoded(url.pathname.slice(1), invalid), invalid)
      : { kind: 'url', url: url.href.replace(/#.*$/, '') };
  }
  if (PREFIXED.test(text)) return hubName(text.replace(PREFIXED, ''), invalid);
  if (isBareName(text)) return hubName(text, invalid);
  return invalid('it is neither user/repo nor begins with hf:, ollama: or https:');
}

/** The name as users write it. */
export function modelNameText(name: ModelName): string {
  if (name.kind === 'url') return name.url;
  if (name.kind === 'ollama') {
    const { registry, repo, tag } = name;
    const host = registry === OLLAMA_REGISTRY ? '' : `${registry.replace(/^https:\/\//, '')}/`;
    return `ollama:${host}${host === '' ? repo.replace(/^library\//, '') : repo}:${tag}`;
  }
  const { repo, revision, quantization, file } = name;
  const at = revision === DEFAULT_REVISION ? '' : `@${revision}`;
  const tail = file === undefined ? (quantization === undefined ? '' : `:${quantization}`) : `:${file}`;
  return `hf:${repo}${at}${tail}`;
}

/** True for a relative path that stays where it is and can be a file's name on every system. */
export function isSafePath(path: string): boolean {
  if ([...path].some((character) => character < ' ' || character === '\\' || character === ':')) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

type Refuse = (why: string) => never;

function decoded(path: string, invalid: Refuse): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return invalid('its percent signs do not start escapes');
  }
}

function hubName(path: string, invalid: Refuse): HubName {
  const page = /^([^/]+\/[^/:@]+)\/(?:blob|resolve|raw)\/([^/]+)\/(.+)$/.exec(path);
  const tree = /^([^/]+\/[^/:@]+)\/tree\/([^/]+)\/?$/.exec(path);
  const inside = /^([^/]+\/[^/:@]+)\/(.+\.gguf)$/.exec(path);
  const short = /^([^/]+\/[^/:@]+)\/?(?:@([^:]+))?(?::(.+))?$/.exec(path);
  const [, repo = '', revision = DEFAULT_REVISION, tail] =
    page ?? tree ?? (inside ? [path, inside[1], undefined, inside[2]] : (short ?? []));
  if (!REPO.test(repo) || repo.includes('..') || repo.includes('--'))
    return invalid('expected user/repo after the hub');
  if (/^(?:datasets|spaces|models|api)\//.test(repo)) return invalid('only models can be pulled');
  if (!isSafePath(revision)) return invalid(`${revision} cannot be a revision`);
  const name = { kind: 'hub', repo, revision } as const;
  if (tail === undefined || tail.toLowerCase() === LATEST) return name;
  if (!tail.endsWith(EXTENSION)) {
    return WORD.test(tail) && !page ? { ...name, quantization: tail } : invalid(`${tail} is no GGUF file`);
  }
  return isSafePath(tail) ? { ...name, file: tail } : invalid(`${tail} cannot be a file of a repository`);
}

function ollamaName(path: string, invalid: Refuse): OllamaName {
  const [, scheme = 'https://', rest = ''] = /^(https?:\/\/)?(.*)$/i.exec(path) ?? [];
  const [, host, model = '', tag = LATEST] =
    /^(?:([\w-]*\.[\w.-]*(?::\d+)?|[\w-]+:\d+|localhost)\/)?([^:]+?)(?::([^:/]+))?$/.exec(rest) ?? [];
  const repo = model.includes('/') ? model : `library/${model}`;
  if (!REPO.test(repo) || repo.includes('..'))
    return invalid('expected a model of the registry after ollama:');
  if (!WORD.test(tag)) return invalid(`${tag} cannot be a tag`);
  const registry = host === undefined ? OLLAMA_REGISTRY : `${scheme}${host}`;
  return { kind: 'ollama', registry, repo, tag };
}
