export { type ConstrainedVocabulary, type ConstraintMaker, LocalConstraints } from './constraint-maker.ts';
export { runConstraintWorker } from './constraint-worker.ts';
export { type AnswerTextForm, type TextForm, writeForm } from './text-form.ts';
export type { TokenConstraint } from './token-constraint.ts';
export { WorkerConstraints } from './worker-constraints.ts';
