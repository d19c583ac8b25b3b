import type { ObjectCalls } from '../call-forms.ts';
import type { CallContext, CallSyntax } from '../call-context.ts';
import { objectCallsRule } from '../forced/object-calls-rule.ts';
import type { Reading } from '../scanner.ts';
import { writeObjectCalls } from '../written-calls.ts';
import { readKeyedCall, readObjectCall } from './object-call.ts';

/** Parses calls that are JSON objects. */
export function objectCalls(form: ObjectCalls): CallSyntax {
  return {
    starts: form.open,
    *read(context, start) {
      // A marker that includes the beginning of the object.
      if (start?.includes('{'))
        context.scanner.goTo(context.scanner.place - start.length + start.indexOf('{'));
      return yield* readObjects(context, form);
    },
    rule: (rules) => objectCallsRule(form, rules),
    write: (calls) => writeObjectCalls(form, calls),
  };
}

function* readObjects(context: CallContext, { close, isKeyed }: ObjectCalls): Reading<boolean> {
  const { scanner } = context;
  const readOne = isKeyed ? readKeyedCall : readObjectCall;
  const isList = (yield* scanner.takeSpaced(['['])) !== undefined;
  if (!(yield* readOne(context))) return false;
  for (;;) {
    const before = scanner.place;
    const separator = yield* scanner.takeSpaced([',', ';']);
    yield* scanner.spaces();
    if ((yield* scanner.peek()) === '{' && (separator !== undefined || !isList)) {
      if (yield* readOne(context)) continue;
    }
    scanner.goTo(before);
    break;
  }
  if (isList) yield* scanner.takeSpaced([']']);
  if (close !== undefined) yield* scanner.takeSpaced([close.trim()]);
  return true;
}
