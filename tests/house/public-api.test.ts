import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROJECT_ROOT } from '../support/project.ts';
import { packageEntries } from '../support/package-entries.ts';
import { Declarations } from '../support/declarations.ts';

test('what the package exports names nothing that it does not export', () => {
  const missing = new Declarations().unreachable(
    Object.fromEntries(packageEntries().map(({ name, types }) => [name, types])),
  );
  assert.deepEqual(
    missing.map((line) => line.replace(`${PROJECT_ROOT}/dist/src/`, '')),
    [],
  );
});

/** What an entry with this text, beside a file that declares `Hidden`, leaves out. */
function leftOut(entry: string): string[] {
  const files: Record<string, string> = {
    'entry.d.ts': entry,
    'hidden.d.ts': 'export interface Hidden {\n}\n',
    'room.d.ts':
      "import type { Hidden } from './hidden.ts';\nexport declare class Room {\n    #private;\n    constructor(of: Hidden);\n}\n" +
      'export declare class Open {\n    readonly hidden: Hidden;\n}\n' +
      'interface Beside {\n}\nexport type Both = Beside | 1;\n',
  };
  return new Declarations((path) => files[path] ?? '').unreachable({ '.': 'entry.d.ts' });
}

test('that check finds what is left out, of members, constructors, types beside, and through other files', () => {
  assert.deepEqual(leftOut("export { Open } from './room.ts';\n"), ['.:Open names hidden.d.ts#Hidden']);
  assert.deepEqual(leftOut("export * from './room.ts';\n"), [
    '.:Both names room.d.ts#Beside',
    '.:Room names hidden.d.ts#Hidden',
  ]);
  assert.deepEqual(leftOut("export { Room } from './room.ts';\n"), ['.:Room names hidden.d.ts#Hidden']);
  assert.deepEqual(leftOut("export type { Room } from './room.ts';\n"), []);
  const whole = "export { Open } from './room.ts';\nexport type { Hidden } from './hidden.ts';\n";
  assert.deepEqual(leftOut(whole), []);
});
