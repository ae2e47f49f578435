// Why figures are missed where they are: what was measured about each, for RESULTS.md.

/** By figure. */
export const limits: Readonly<Record<string, string>> = {}
