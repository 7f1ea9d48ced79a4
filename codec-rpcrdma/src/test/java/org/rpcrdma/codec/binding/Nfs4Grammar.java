// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * A second description of every NFS version 4 operation, taken from the XDR files of the RFCs, from which tests
 * make random COMPOUNDs. A number stands for so many bytes, {@code =n} for the word n, {@code C} for a large
 * count, {@code B} for a boolean, {@code s} for a string, {@code h} for a file handle, {@code b} for a bitmap,
 * {@code f} for attributes, {@code E} for an eligible opaque, {@code ?( )} for optional data, {@code *( )} for an
 * array, {@code *1( )} for one of at most one element, {@code +( )} for a linked list and {@code ( | )} for the
 * arms of a union.
 */
final class Nfs4Grammar {

    private static final String OWNER = "8 s";
    private static final String NETLOC = "( =1 s | =2 s | =3 s s )";
    private static final String DELEGATION =
            "( =0 | =1 16 B 12 s | =2 16 B =1 8 12 s | =2 16 B =2 4 4 12 s | =3 ( =0 | =1 B | =2 B"
                    + " | =7 ) | =4 16 B 12 s | =5 16 B =1 8 12 s )";
    private static final String CALLBACK_SECURITY = "*( ( =0 | =1 4 s 4 4 *( 4 ) | =6 4 s s ) )";
    private static final String CHANNEL = "4 4 4 4 4 4 *1( 4 )";
    private static final String IMPLEMENTATION = "*1( s s 12 )";
    private static final String SECURITY = "*( ( =6 s 4 4 | =1 | =0 | =390003 ) )";
    private static final String WRITE_RESPONSE = "*1( 16 ) 8 4 8";

    /** Number, arguments and results of every operation. */
    private static final String[][] OPERATIONS = {
        {"3", "4", "4 4"}, // ACCESS
        {"4", "4 16", "16"}, // CLOSE
        {"5", "8 4", "8"}, // COMMIT
        {"6", "( =5 E | =3 4 4 | =4 4 4 | =6 | =7 | =2 | =1 | =77 ) s f", "B 8 8 b"}, // CREATE
        {"7", "8", ""}, // DELEGPURGE
        {"8", "16", ""}, // DELEGRETURN
        {"9", "b", "f"}, // GETATTR
        {"10", "", "h"}, // GETFH
        {"11", "s", "B 8 8"}, // LINK
        {"12", "4 B 8 8 ( =1 4 16 4 " + OWNER + " | =0 16 4 )", "16"}, // LOCK
        {"13", "4 8 8 " + OWNER, ""}, // LOCKT
        {"14", "4 4 16 8 8", "16"}, // LOCKU
        {"15", "s", ""}, // LOOKUP
        {"16", "", ""}, // LOOKUPP
        {"17", "f", ""}, // NVERIFY
        {
            "18",
            "4 4 4 "
                    + OWNER
                    + " ( =0 | =1 =0 f | =1 =1 f | =1 =2 8 | =1 =3 8 f )"
                    + " ( =0 s | =1 4 | =2 16 s | =3 s | =4 | =5 16 | =6 )",
            "16 B 8 8 4 b " + DELEGATION
        }, // OPEN
        {"19", "B", ""}, // OPENATTR
        {"20", "16 4", "16"}, // OPEN_CONFIRM
        {"21", "16 4 4 4", "16"}, // OPEN_DOWNGRADE
        {"22", "h", ""}, // PUTFH
        {"23", "", ""}, // PUTPUBFH
        {"24", "", ""}, // PUTROOTFH
        {"25", "16 8 C", "B E"}, // READ
        {"26", "8 8 4 C b", "8 +( 8 s f ) B"}, // READDIR
        {"27", "", "E"}, // READLINK
        {"28", "s", "B 8 8"}, // REMOVE
        {"29", "s s", "B 8 8 B 8 8"}, // RENAME
        {"30", "8", ""}, // RENEW
        {"31", "", ""}, // RESTOREFH
        {"32", "", ""}, // SAVEFH
        {"33", "s", SECURITY}, // SECINFO
        {"34", "16 f", "b"}, // SETATTR
        {"35", "8 s 4 s s 4", "8 8"}, // SETCLIENTID
        {"36", "8 8", ""}, // SETCLIENTID_CONFIRM
        {"37", "f", ""}, // VERIFY
        {"38", "16 8 4 E", "4 4 8"}, // WRITE
        {"39", OWNER, ""}, // RELEASE_LOCKOWNER
        {"40", "4 " + CALLBACK_SECURITY, ""}, // BACKCHANNEL_CTL
        {"41", "16 4 B", "16 4 B"}, // BIND_CONN_TO_SESSION
        {
            "42",
            "8 s 4 ( =0 | =1 b b | =2 b b *( s ) *( s ) 4 4 ) " + IMPLEMENTATION,
            "8 4 4 ( =0 | =1 b b | =2 b b 4 4 4 4 *( s ) ) 8 s s " + IMPLEMENTATION
        }, // EXCHANGE_ID
        {
            "43",
            "8 4 4 " + CHANNEL + " " + CHANNEL + " 4 " + CALLBACK_SECURITY,
            "16 4 4 " + CHANNEL + " " + CHANNEL
        }, // CREATE_SESSION
        {"44", "16", ""}, // DESTROY_SESSION
        {"45", "16", ""}, // FREE_STATEID
        {"46", "B b 12 12 b b", "( =0 8 16 b b b | =1 B )"}, // GET_DIR_DELEGATION
        {"47", "16 4 C b", "4 s b"}, // GETDEVICEINFO
        {"48", "4 4 8 8", "8 8 *( 16 ) B"}, // GETDEVICELIST
        {"49", "8 8 B 16 ?( 8 ) ?( 12 ) 4 s", "?( 8 )"}, // LAYOUTCOMMIT
        {"50", "B 4 4 8 8 8 16 C", "B 16 *( 8 8 4 4 s )"}, // LAYOUTGET
        {"51", "B 4 4 ( =1 8 8 16 s | =2 | =3 )", "?( 16 )"}, // LAYOUTRETURN
        {"52", "4", SECURITY}, // SECINFO_NO_NAME
        {"53", "16 4 4 4 B", "16 4 4 4 4 4"}, // SEQUENCE
        {"54", "s s", "s"}, // SET_SSV
        {"55", "*( 16 )", "*( 4 )"}, // TEST_STATEID
        {"56", "4 ( =4 | =6 | =1 4 )", DELEGATION}, // WANT_DELEGATION
        {"57", "8", ""}, // DESTROY_CLIENTID
        {"58", "B", ""}, // RECLAIM_COMPLETE
        {"59", "16 8 8", ""}, // ALLOCATE
        {"60", "16 16 8 8 8 B B *( " + NETLOC + " )", WRITE_RESPONSE + " B B"}, // COPY
        {"61", "16 " + NETLOC, "12 16 *( " + NETLOC + " )"}, // COPY_NOTIFY
        {"62", "16 8 8", ""}, // DEALLOCATE
        {"63", "16 8 8 b", "b"}, // IO_ADVISE
        {"64", "8 8 16 *( 16 4 4 )", ""}, // LAYOUTERROR
        {"65", "8 8 16 8 8 8 8 16 4 s", ""}, // LAYOUTSTATS
        {"66", "16", ""}, // OFFLOAD_CANCEL
        {"67", "16", "8 *1( 4 )"}, // OFFLOAD_STATUS
        {"68", "16 8 C", "B *( ( =0 8 s | =1 8 8 ) )"}, // READ_PLUS
        {"69", "16 8 4", "B 8"}, // SEEK
        {"70", "16 4 8 8 8 8 4 8 s", WRITE_RESPONSE}, // WRITE_SAME
        {"71", "16 16 8 8 8", ""}, // CLONE
        {"72", "s", "s"}, // GETXATTR
        {"73", "4 s s", "B 8 8"}, // SETXATTR
        {"74", "8 C", "8 *( s ) B"}, // LISTXATTRS
        {"75", "s", "B 8 8"}, // REMOVEXATTR
        {"10044", "", ""}, // ILLEGAL
    };

    private final Random random;
    private final ByteBuf out = Unpooled.buffer();
    private String[] tokens;
    private int next;

    /** The eligible items: index of the first byte to length. */
    final Map<Integer, Integer> items = new TreeMap<>();

    Nfs4Grammar(Random random) {
        this.random = random;
    }

    static int operations() {
        return OPERATIONS.length;
    }

    static int number(int row) {
        return Integer.parseInt(OPERATIONS[row][0]);
    }

    /** What was written so far. */
    ByteBuf stream() {
        return out;
    }

    Nfs4Grammar word(int value) {
        out.writeInt(value);
        return this;
    }

    Nfs4Grammar string() {
        opaque(random.nextInt(40));
        return this;
    }

    Nfs4Grammar argumentsOf(int row) {
        return write(OPERATIONS[row][1]);
    }

    Nfs4Grammar resultsOf(int row) {
        return write(OPERATIONS[row][2]);
    }

    Nfs4Grammar write(String grammar) {
        tokens = grammar.isEmpty() ? new String[0] : grammar.split(" ");
        next = 0;
        sequence(true);
        return this;
    }

    private void sequence(boolean writes) {
        while (next < tokens.length && !tokens[next].equals("|") && !tokens[next].equals(")")) {
            item(tokens[next++], writes);
        }
    }

    private void item(String token, boolean writes) {
        switch (token) {
            case "(" -> union(writes);
            case "?(" -> repeat(writes, 2, false);
            case "*1(" -> repeat(writes, 2, false);
            case "*(" -> repeat(writes, 4, false);
            case "+(" -> repeat(writes, 4, true);
            default -> {
                if (writes) {
                    plain(token);
                }
            }
        }
    }

    private void union(boolean writes) {
        List<Integer> arms = new ArrayList<>();
        do {
            arms.add(next);
            sequence(false);
        } while (tokens[next++].equals("|"));
        int end = next;
        if (writes) {
            next = arms.get(random.nextInt(arms.size()));
            sequence(true);
        }
        next = end;
    }

    private void repeat(boolean writes, int bound, boolean isList) {
        int start = next;
        int count = writes ? random.nextInt(bound) : 0;
        if (writes && !isList) {
            out.writeInt(count);
        }
        for (int i = 0; i < count; i++) {
            if (isList) {
                out.writeInt(1);
            }
            next = start;
            sequence(true);
        }
        if (writes && isList) {
            out.writeInt(0);
        }
        next = start;
        sequence(false);
        next++; // the parenthesis
    }

    private void plain(String token) {
        switch (token) {
            case "C" -> out.writeInt(4096 + random.nextInt(60_000));
            case "B" -> out.writeInt(random.nextInt(2));
            case "s" -> string();
            case "h" -> opaque(random.nextInt(129));
            case "b" -> bitmap();
            case "f" -> {
                bitmap();
                string();
            }
            case "E" -> {
                int length = random.nextInt(50);
                items.put(out.writerIndex() + 4, length);
                opaque(length);
            }
            default -> {
                if (token.startsWith("=")) {
                    out.writeInt(Integer.parseInt(token.substring(1)));
                } else {
                    bytes(Integer.parseInt(token));
                }
            }
        }
    }

    private void bitmap() {
        int words = random.nextInt(4);
        out.writeInt(words);
        bytes(4 * words);
    }

    private void opaque(int length) {
        out.writeInt(length);
        bytes(length);
        out.writeZero(-length & 3);
    }

    private void bytes(int length) {
        byte[] content = new byte[length];
        random.nextBytes(content);
        out.writeBytes(content);
    }
}
