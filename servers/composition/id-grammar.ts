/** What names are made of (R1). */
export const idGrammar: RegExp = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
