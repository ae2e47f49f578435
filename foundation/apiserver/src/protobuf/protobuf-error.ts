/** Invalid protobuf of the expected kind. `code` is stable. */
export class ProtobufError extends Error {
  readonly code = 'InvalidProtobuf'
}
