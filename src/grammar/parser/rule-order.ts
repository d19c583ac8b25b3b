import type { Grammar, Rule } from '../grammar.ts';

/**
 * The rules that a grammar's root needs, each after the rules it references, except in cycles. Uses an explicit stack,
 * because chains of references may be a hundred thousand rules long.
 */
export function rulesInOrder(grammar: Grammar): [string, Rule][] {
  const order: [string, Rule][] = [];
  const seen = new Set<string>();
  const stack: { name: string; isDone: boolean }[] = [{ name: grammar.root, isDone: false }];
  for (let at = stack.pop(); at; at = stack.pop()) {
    const rule = grammar.rules.get(at.name);
    if (!rule) continue;
    if (at.isDone) {
      order.push([at.name, rule]);
      continue;
    }
    if (seen.has(at.name)) continue;
    seen.add(at.name);
    stack.push({ name: at.name, isDone: true });
    for (const name of namesIn(rule)) if (!seen.has(name)) stack.push({ name, isDone: false });
  }
  return order;
}

function namesIn(rule: Rule): Set<string> {
  const names = new Set<string>();
  const seen = new Set<Rule>();
  const stack: Rule[] = [rule];
  for (let at = stack.pop(); at; at = stack.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    if (at.kind === 'reference') names.add(at.name);
    else if (at.kind === 'sequence' || at.kind === 'choice') for (const part of at.parts) stack.push(part);
    else if (at.kind === 'repeat' || at.kind === 'scope') stack.push(at.part);
    else if (at.kind === 'members') {
      // Rules that are built later bring their own names.
      for (const { value } of at.members) if (value.kind !== 'later') stack.push(value);
      stack.push(at.separator);
      if (at.other) stack.push(at.other);
    }
  }
  return names;
}
