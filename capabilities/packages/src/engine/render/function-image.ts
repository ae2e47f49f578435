// Names of function images, and the references that kpt resolves them to.

/** The prefix of an image without a registry. */
export const defaultImagePrefix = 'ghcr.io/kptdev/krm-functions-catalog'

/** Returns the full image: the default prefix for a short name, `:latest` for one without tag and digest. */
export function fullImage(
  image: string,
  { prefix = defaultImagePrefix, tag = '' }: { readonly prefix?: string; readonly tag?: string } = {},
): string {
  const full = image.includes('/') ? image : `${prefix}/${image}`
  if (tag !== '') return `${withoutTag(full)}:${tag}`
  return hasTagOrDigest(full) ? full : `${full}:latest`
}

/** Returns the last path element of an image without tag and digest: `set-labels`. */
export function functionName(image: string): string {
  return withoutTag(image).split('/').at(-1) ?? ''
}

function withoutTag(image: string): string {
  const name = image.split('@')[0] ?? ''
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1)
  return colon === -1 ? name : name.slice(0, colon)
}

function hasTagOrDigest(image: string): boolean {
  return image.includes('@') || image.slice(image.lastIndexOf('/') + 1).includes(':')
}
