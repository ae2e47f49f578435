// Images of commands.

/** Matches an image reference: no option of a container engine begins like one. */
export const imageReference: RegExp = /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/
