import { fail } from '../base/errors.ts';
import type { CollectiveOp } from '../ops/collectives.ts';

/** Throws `OP_UNSUPPORTED`: a device alone has nobody to compute a collective with. */
export function refuseCollective(device: string, { kind: op }: CollectiveOp): never {
  fail('OP_UNSUPPORTED', { device, op, why: 'the ranks of a group compute it together' });
}
