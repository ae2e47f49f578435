// The arguments of Node with which a child process of a test loads the packages as the test itself does.

/** Selects the sources of the packages, or with `FAIRLEAD_TEST_BUILT` what was built. */
export const sourceCondition: readonly string[] = process.env['FAIRLEAD_TEST_BUILT']
  ? []
  : ['--conditions=@fairlead/source']
