// Every documented endpoint of the server, one per line.
export {
  cancelMessageBatchEndpoint,
  createMessageBatchEndpoint,
  deleteMessageBatchEndpoint,
  messageBatchEndpoint,
  messageBatchesEndpoint,
  messageBatchResultsEndpoint,
} from './batches/message-batches.ts';
export {
  batchEndpoint,
  batchesEndpoint,
  cancelBatchEndpoint,
  createBatchEndpoint,
} from './batches/openai-batches.ts';
export {
  deleteFileEndpoint,
  fileContentEndpoint,
  fileEndpoint,
  filesEndpoint,
  uploadFileEndpoint,
} from './openai/files.ts';
export { countTokensEndpoint, messagesEndpoint } from './anthropic/messages.ts';
export { applyTemplateEndpoint } from './llama-cpp/apply-template.ts';
export { completionEndpoint } from './llama-cpp/completion.ts';
export { embeddingEndpoint, llamaEmbeddingsEndpoint } from './llama-cpp/embedding.ts';
export { infillEndpoint } from './llama-cpp/infill.ts';
export { propsEndpoint } from './llama-cpp/props.ts';
export { stopStreamEndpoint, streamEndpoint } from './llama-cpp/stream.ts';
export { slotActionEndpoint } from './llama-cpp/slot-actions.ts';
export {
  rerankEndpoint,
  rerankingEndpoint,
  v1RerankEndpoint,
  v1RerankingEndpoint,
} from './llama-cpp/rerank.ts';
export { ollamaChatEndpoint } from './ollama/chat.ts';
export { ollamaEmbedEndpoint, ollamaEmbeddingsEndpoint } from './ollama/embed.ts';
export { ollamaGenerateEndpoint } from './ollama/generate.ts';
export {
  ollamaCopyEndpoint,
  ollamaCreateEndpoint,
  ollamaDeleteEndpoint,
  ollamaPullEndpoint,
  ollamaPushEndpoint,
} from './ollama/manage.ts';
export {
  ollamaPsEndpoint,
  ollamaShowEndpoint,
  ollamaTagsEndpoint,
  ollamaVersionEndpoint,
} from './ollama/models.ts';
export { chatEndpoint } from './openai/chat.ts';
export {
  chatMessagesEndpoint,
  chatsEndpoint,
  deleteChatEndpoint,
  storedChatEndpoint,
  updateChatEndpoint,
} from './openai/stored-chats.ts';
export { completionsEndpoint } from './openai/completions.ts';
export { embeddingsEndpoint } from './openai/embeddings.ts';
export { inputTokensEndpoint } from './openai/input-tokens.ts';
export { modelEndpoint, modelsEndpoint } from './openai/models.ts';
export {
  addItemsEndpoint,
  conversationEndpoint,
  conversationItemEndpoint,
  conversationItemsEndpoint,
  createConversationEndpoint,
  deleteConversationEndpoint,
  deleteItemEndpoint,
  updateConversationEndpoint,
} from './openai/conversations.ts';
export { responsesEndpoint, responseTokensEndpoint } from './openai/responses.ts';
export {
  cancelResponseEndpoint,
  deleteResponseEndpoint,
  inputItemsEndpoint,
  responseEndpoint,
} from './openai/stored-responses.ts';
export {
  adaptersEndpoint,
  loadAdapterEndpoint,
  scaleAdaptersEndpoint,
  unloadAdapterEndpoint,
} from './service/adapters.ts';
export { healthEndpoint, livezEndpoint } from './service/health.ts';
export { loadEndpoint, unloadEndpoint } from './service/loading.ts';
export { metricsEndpoint } from './service/metrics-endpoint.ts';
export { slotsEndpoint } from './service/slots.ts';
export { detokenizeEndpoint, tokenizeEndpoint } from './service/tokenize.ts';
export { classifyEndpoint, v1ClassifyEndpoint } from './vllm/classify.ts';
export { scoreEndpoint, v1ScoreEndpoint } from './vllm/score.ts';
