import { testEmulatedPrelude } from '../support/native/emulated-prelude.ts';

await testEmulatedPrelude('gfx942');
