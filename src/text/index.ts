export type { ChatMessage, ChatRole, ChatTool, ChatToolCall, TemplateMessage } from './chat-message.ts';
export { checkConversation } from './check-conversation.ts';
export {
  type ChatRenderOptions,
  ChatTemplate,
  chatTemplateNames,
  encodeChat,
  encodeChatInTurns,
  type TemplateTokens,
} from './chat-template.ts';
export {
  type AnswerTextForm,
  type ConstrainedVocabulary,
  type ConstraintMaker,
  LocalConstraints,
  runConstraintWorker,
  type TextForm,
  type TokenConstraint,
  WorkerConstraints,
  writeForm,
} from './constrained/index.ts';
export { checkDryBreakers, dryBreakers } from './dry-breakers.ts';
export {
  answerGrammar,
  type AnswerGrammarOptions,
  AnswerCollector,
  type AnswerMessage,
  type AnswerParserOptions,
  AnswerParser,
  type AnswerPart,
  type CallOutcome,
  type Dialect,
  dialectOf,
  newCallId,
  type IncompleteCall,
  isThinkingRequested,
  PLAIN,
  type ReasoningForm,
  type ReasoningOptions,
  reasoningVariables,
  templateVariables,
  thinksByDefault,
} from './dialects/index.ts';
export type { Rendered, Spans } from '../jinja/index.ts';
export { RerankPrompt } from './rerank-prompt.ts';
export { createTokenizer } from './create-tokenizer.ts';
export { PRETOKENIZER_KINDS, type PretokenizerKind } from './pretokenizer-kinds.ts';
export type { SpecialIds, SpecialTokens } from './special-tokens.ts';
export { StopMatcher, type StopResult } from './stop-matcher.ts';
export { StreamingDetokenizer } from './streaming-detokenizer.ts';
export type { TokenType } from './token-type.ts';
export type { DecodeOptions, EncodeOptions, Tokenizer } from './tokenizer.ts';
export type { TokenizerMetadata } from './tokenizer-metadata.ts';
