import { countTokensEndpoint, messagesEndpoint } from './anthropic/messages.ts';
import type { Endpoint } from './endpoint.ts';
import { chatEndpoint } from './openai/chat.ts';
import { completionsEndpoint } from './openai/completions.ts';
import { embeddingsEndpoint } from './openai/embeddings.ts';
import { modelEndpoint, modelsEndpoint } from './openai/models.ts';
import { responsesEndpoint } from './openai/responses.ts';
import { adaptersEndpoint } from './service/adapters.ts';
import { healthEndpoint } from './service/health.ts';
import { metricsEndpoint } from './service/metrics-endpoint.ts';
import { openApiEndpoint } from './service/openapi.ts';
import { slotsEndpoint } from './service/slots.ts';
import { detokenizeEndpoint, tokenizeEndpoint } from './service/tokenize.ts';

const DESCRIBED: readonly Endpoint[] = [
  chatEndpoint,
  completionsEndpoint,
  responsesEndpoint,
  messagesEndpoint,
  countTokensEndpoint,
  embeddingsEndpoint,
  modelsEndpoint,
  modelEndpoint,
  tokenizeEndpoint,
  detokenizeEndpoint,
  healthEndpoint,
  metricsEndpoint,
  slotsEndpoint,
  adaptersEndpoint,
];

/** Everything that the server answers. */
export const ENDPOINTS: readonly Endpoint[] = [...DESCRIBED, openApiEndpoint(DESCRIBED)];
