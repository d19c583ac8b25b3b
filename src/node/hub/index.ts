/** Models by name: names, hubs, downloads and the cache that Hugging Face's tools share. */
export {
  type CachedModel,
  cachedModels,
  diskUse,
  type FolderUse,
  modelsNamed,
  removeModels,
  removeUnfinished,
  type VerifiedFile,
  verifyModel,
} from './cached-models.ts';
export { type GgufVariant, preferredVariant } from './gguf-variants.ts';
export { HttpClient } from './http-client.ts';
export type { HubFile } from './hub-api.ts';
export { readHubSettings } from './hub-settings.ts';
export { isModelName, type ModelName, modelNameText } from './model-name.ts';
export {
  type HubOptions,
  ModelHub,
  type PulledModel,
  type PullOptions,
  type PullProgress,
  type RemoteModel,
} from './pull.ts';
export { remoteFetch } from './remote-fetch.ts';
export { GENERATION_CONFIG } from './repo-folder.ts';
