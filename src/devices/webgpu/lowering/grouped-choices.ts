import type { Temporary } from '../../../device/index.ts';

/** The choices of a batch's rows, grouped by expert. */
export interface GroupedChoices {
  readonly order: Temporary;
  readonly tiles: Temporary;
  readonly tileRows: number;
  /** Maximum number of tiles. */
  readonly tileCount: number;
}
