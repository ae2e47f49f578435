/** Bytes that are no protobuf of the expected kind; the message says why. `code` is stable. */
export class ProtobufError extends Error {
  readonly code = 'InvalidProtobuf'
}
