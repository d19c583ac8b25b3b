import { testEmulatedPrelude } from '../support/native/emulated-prelude.ts';

await testEmulatedPrelude('gfx90a');
