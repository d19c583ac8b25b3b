/** Models by name: names, hubs, downloads and the cache that Hugging Face's tools share. */
export { isBareName, isModelName, type ModelName, modelNameText } from './model-name.ts';
export {
  type HubOptions,
  ModelHub,
  type PulledModel,
  type PullOptions,
  type PullProgress,
  type RemoteModel,
} from './pull.ts';
