export { JsonText, TrustedText } from './from-javascript.ts';
export type { Spans } from './str.ts';
export { JinjaTemplate, type Rendered } from './template.ts';
export { strftime } from './strftime.ts';
