import { fail } from '../../../base/errors.ts';
import type { Place } from '../memory/cpu-buffer.ts';
import type { LoweredCall } from '../lowering/lowered-call.ts';
import type { Phase } from './schedule.ts';
import type { Operand } from '../lowering/operands.ts';

/**
 * Throws `BINDING` if an output overlaps memory that the same phase still reads, unless only the call that writes it
 * reads it, elementwise and in place. Earlier phases are done by then; reading it later violates the contract.
 */
export function checkOverlaps(graph: string, phases: readonly Phase[], places: readonly Place[]): void {
  for (const tasks of phases) {
    const calls = tasks.flatMap((task) => task.calls);
    for (const writer of calls) {
      for (const output of writer.writes) {
        if (output.origin.kind === 'output') checkOutput(graph, { writer, output, calls, places });
      }
    }
  }
}

function checkOutput(
  graph: string,
  of: { writer: LoweredCall; output: Operand; calls: readonly LoweredCall[]; places: readonly Place[] },
): void {
  const { writer, output, calls, places } = of;
  const target = places[output.id] as Place;
  for (const call of calls) {
    for (const operand of [...call.local, ...call.reads, ...call.streamed]) {
      const source = places[operand.id] as Place;
      if (operand === output || !overlap(source, target)) continue;
      const inPlace = call === writer && call.local.includes(operand) && sameRows(operand, output);
      if (inPlace && source.offset === target.offset) continue;
      const found = `memory shared with ${operand.name}, which is still read`;
      fail('BINDING', { graph, value: `output ${output.name}`, found, expected: 'memory of its own' });
    }
  }
}

function overlap(a: Place, b: Place): boolean {
  return a.bank === b.bank && a.offset < b.offset + b.byteLength && b.offset < a.offset + a.byteLength;
}

function sameRows(a: Operand, b: Operand): boolean {
  return a.rows?.axis === b.rows?.axis && a.rows?.rowBytes === b.rows?.rowBytes;
}
