export { AnswerCollector, type AnswerMessage, type IncompleteCall } from './answer-message.ts';
export type { AnswerPart, CallOutcome } from './answer-part.ts';
export { AnswerParser, type AnswerOf } from './answer-parser.ts';
export { freshCallId } from './call-id.ts';
export type { Dialect, ReasoningForm } from './dialect.ts';
export { answerGrammar, type AnswerGrammarOf } from './forced/answer-grammar.ts';
export { PLAIN } from './dialects-of-their-own.ts';
export {
  isThinkingAsked,
  type ReasoningOptions,
  reasoningVariables,
  templateVariables,
  thinksUnasked,
} from './reasoning-switch.ts';
export { dialectOf } from './table.ts';
export type { CallWriter, WrittenCall } from './written-calls.ts';
