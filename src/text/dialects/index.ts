export { AnswerCollector, type AnswerMessage, type IncompleteCall } from './answer-message.ts';
export type { AnswerPart, CallOutcome } from './answer-part.ts';
export { AnswerParser, type AnswerParserOptions } from './answer-parser.ts';
export { newCallId } from './call-id.ts';
export type { Dialect, ReasoningForm } from './dialect.ts';
export { answerGrammar, type AnswerGrammarOptions } from './forced/answer-grammar.ts';
export { PLAIN } from './custom-dialects.ts';
export {
  isThinkingRequested,
  type ReasoningOptions,
  reasoningVariables,
  templateVariables,
  thinksByDefault,
} from './reasoning-switch.ts';
export { dialectOf } from './table.ts';
export type { CallWriter, WrittenCall } from './written-calls.ts';
