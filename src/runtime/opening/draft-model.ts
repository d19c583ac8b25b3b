import type { Device } from '../../device/index.ts';
import type { GgufFile } from '../../gguf/index.ts';
import type { ModelConfig } from '../../model/model-config.ts';
import type { TokenSource } from './draft-proposer.ts';

/** An open model that proposes what another one checks. It stays the caller's. */
export interface DraftModel extends TokenSource {
  readonly gguf: GgufFile;
  readonly config: ModelConfig;
}

/** What a model that proposes is opened from. It belongs to the model that it proposes for, from that one's opening on. */
export interface DraftSource {
  readonly gguf: GgufFile;
  /** Its own device. Default: that of the model, whose memory both share then. */
  readonly device?: Device | undefined;
  /** Opens its own device again when that was lost. */
  readonly reopen?: (() => Promise<Device>) | undefined;
}
