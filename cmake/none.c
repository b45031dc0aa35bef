/* An object library needs a source: what stands for the satellites in a build without them. */
typedef int tn_none;
