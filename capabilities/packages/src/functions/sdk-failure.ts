/** Standard error of a function of kpt's SDK that failed; its results say why. */
export const functionFailure = 'failed to evaluate function: error: function failure'
