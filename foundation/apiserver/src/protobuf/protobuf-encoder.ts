// The interface of encoders for `application/vnd.kubernetes.protobuf`.
import type { JsonObject } from '@fairlead/kube'

/** Encodes an object with apiVersion and kind as protobuf; undefined when the kind has no such form. */
export interface ProtobufEncoder {
  (object: JsonObject): Uint8Array | undefined
  /** Returns the encoder of a list whose items are encoded one at a time; undefined when the kind has no such form. */
  readonly list?: (head: JsonObject) => ProtobufListEncoder | undefined
}

/** Encodes a list, of which `head` is all but the items. */
export interface ProtobufListEncoder {
  /** Returns the field of one item. */
  item(object: JsonObject): Uint8Array
  /** Returns the whole list, in chunks; `items` are the fields of its items. */
  whole(items: readonly Uint8Array[]): readonly Uint8Array[]
}
