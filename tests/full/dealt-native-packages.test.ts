import { dealtShare } from '../support/dealt-share.ts';
import { OTHER_PLATFORMS, OWN_PLATFORM, testNativePackages } from '../support/native-packages.ts';

testNativePackages([...OWN_PLATFORM, ...dealtShare(OTHER_PLATFORMS)]);
