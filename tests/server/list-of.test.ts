import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { idsOf, listOf } from '../../src/server/fields/list-of.ts';
import { ENDPOINTS } from '../../src/server/routes.ts';

/** All issues of an error, with those of each alternative of a union. */
function countIssues(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((sum, issue) => {
    const alternatives = issue.code === 'invalid_union' ? issue.errors : [];
    return sum + 1 + alternatives.reduce((all, of) => all + countIssues(of), 0);
  }, 0);
}

test('of a long list of wrong elements no field of any endpoint describes more than the first', () => {
  const wrong: readonly unknown[] = [{}, 1.5, 'x', null, [], { role: 'nobody' }, { x: [{}] }];
  let refused = 0;
  for (const { path, body } of ENDPOINTS) {
    if (!(body instanceof z.ZodObject)) continue;
    for (const [field, schema] of Object.entries(body.shape as Record<string, z.ZodType>)) {
      for (const element of wrong) {
        const value = Array.from({ length: 200 }, () => element);
        const { error } = schema.safeParse(value);
        if (!error) continue;
        refused++;
        assert.ok(countIssues(error.issues) < 40, `${path}: ${field} of ${JSON.stringify(element)}`);
      }
    }
  }
  assert.ok(refused > 100);
});

test('a list reads as zod’s own does, and is described as one', () => {
  const element = z.object({ id: z.int(), name: z.string().default('none') });
  const [own, ours] = [z.array(element).min(1).max(3), listOf(element, { min: 1, max: 3 })];
  for (const value of [
    [{ id: 1, more: 2 }],
    [{ id: 1 }, { id: 2, name: 'b' }],
    [],
    [{ id: 1 }, {}],
    'x',
    Array(4).fill({ id: 1 }),
  ]) {
    const [expected, found] = [own.safeParse(value), ours.safeParse(value)];
    assert.deepEqual(found.data, expected.data);
    assert.deepEqual(found.error?.issues[0]?.path, expected.error?.issues[0]?.path);
  }
  assert.deepEqual(z.toJSONSchema(ours, { io: 'input' }), z.toJSONSchema(own, { io: 'input' }));
  const ids = idsOf({ max: 2 });
  assert.deepEqual(ids.parse([1, 2]), [1, 2]);
  assert.deepEqual(ids.safeParse([1, 2.5]).error?.issues[0]?.path, [1]);
  assert.equal(ids.safeParse([1, 2, 3]).success, false);
});
