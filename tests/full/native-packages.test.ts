import { OTHER_PLATFORMS, OWN_PLATFORM, testNativePackages } from '../support/native-packages.ts';

testNativePackages([...OWN_PLATFORM, ...OTHER_PLATFORMS]);
