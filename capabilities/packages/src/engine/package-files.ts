// The content of a package, as every part of the engine reads it.

/**
 * The files of one package: path below the package folder (forward slashes, no leading slash, no `.` or `..`) to
 * content. UTF-8 content is a string; anything else is bytes, which the engine copies whole and never parses.
 */
export type PackageFiles = ReadonlyMap<string, string | Uint8Array>
