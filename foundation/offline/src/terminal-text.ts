// Strings of maps and objects on a terminal.

/**
 * Returns a string that a terminal prints as it is: control characters, with which a map could move the cursor, change
 * the title or write the clipboard, become `\\u001b`; so do characters that reverse the direction of what follows.
 * Tabs, and line breaks if `isMultiline`, stay.
 */
export function terminalText(text: string, isMultiline = false): string {
  return text.replaceAll(unsafe, (char) =>
    isMultiline && char === '\n' ? char : `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  )
}

const unsafe = /(?!\t)[\p{Cc}\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu
